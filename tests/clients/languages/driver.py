"""Makes the calls of a file with analytics-python: driver.py SOURCES URL CALLS"""
import json
import sys
from datetime import datetime

sources, url, file = sys.argv[1:]
sys.path.insert(0, sources + "/analytics-python")
from segment.analytics.client import Client  # noqa: E402


def fail(error, items):
    sys.exit("The client reported an error: " + str(error))


client = Client("WK", host=url, upload_size=5, on_error=fail)
names = {"userId": "user_id", "anonymousId": "anonymous_id", "groupId": "group_id", "previousId": "previous_id"}
with open(file, encoding="utf-8") as calls:
    for call in json.load(calls):
        kind = call.pop("type")
        if "timestamp" in call:
            call["timestamp"] = datetime.fromisoformat(call["timestamp"].replace("Z", "+00:00"))
        getattr(client, kind)(**{names.get(name, name): value for name, value in call.items()})
client.shutdown()
