"""The one OpenAI-compatible address in front of the engines.

Start with `server.Gateway`. `limits`, `outcome`, `backends`, `routing`, `state`, `routes` and `request_ids`
decide on values; `app`, `proxy`, `relay`, `models`, `admin` and `server` do the talking.
"""
