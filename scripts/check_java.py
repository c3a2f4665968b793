"""Says in one line how to get Java when it is missing or too old. Standard library only."""

import os
import re
import shutil
import subprocess
import sys

minimum = int(sys.argv[1])
home = os.environ.get("JAVA_HOME")
java = os.path.join(home, "bin", "java") if home else shutil.which("java")
advice = (
    f"install Java {minimum} or newer (`apt-get install openjdk-17-jre-headless`, "
    "`brew install openjdk@17`) or point JAVA_HOME at one."
)
if java is None or not os.path.exists(java):
    sys.exit(f"Java was not found: {advice}")
try:
    text = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
except OSError as error:
    sys.exit(f"{java} cannot be started ({error}): {advice}")
found = re.search(r'version "(\d+)(?:\.(\d+))?', text)
if found is None:
    sys.exit(f"{java} does not answer as Java does: {advice}")
major = int(found.group(2)) if found.group(1) == "1" else int(found.group(1))
if major < minimum:
    sys.exit(f"Java {major} at {java} is too old: {advice}")
