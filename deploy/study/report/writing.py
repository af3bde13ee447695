"""Writes report.html of a study's folder.

Owns: reading what the page shows. Knows nothing about how it looks (`page`).
"""

from __future__ import annotations

from pathlib import Path

from deploy.study.folder import StudyFolder
from deploy.study.report.catalogue import footprints
from deploy.study.report.page import page
from deploy.study.report.view import View
from serving.facts.load import kv_formats, public_models, weight_storage


def write_report(folder: StudyFolder) -> Path:
    """Draw the page from study.json, summary.json and starts; returns its path.

    Raises: UsageError where a document cannot be read, Failed where the page cannot be written.
    """
    design = folder.design()
    view = View(design=design, summary=folder.summary(), starts=folder.starts(design))
    folder.write_report(page(view, footprints(public_models(), kv_formats(), weight_storage())))
    return folder.report_path
