// SPDX-License-Identifier: GPL-2.0-only
// A set-up as the fragment of an address: JSON, compressed, in the URL's own Base64.

const FORMAT = "1.";

async function through(bytes, stream) {
  const blob = new Blob([bytes]);
  return new Uint8Array(await new Response(blob.stream().pipeThrough(stream)).arrayBuffer());
}

export async function written(setUp) {
  const bytes = await through(JSON.stringify(setUp), new CompressionStream("deflate-raw"));
  const base64 = btoa(String.fromCharCode(...bytes));
  return FORMAT + base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The set-up in a fragment; none if it holds none. */
export async function read(fragment) {
  if (!fragment.startsWith(FORMAT)) return null;
  try {
    const base64 = fragment.slice(FORMAT.length).replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const text = new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
    return checked(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Only what a set-up has, each of its own type: a link is a stranger's. */
function checked(given) {
  const text = (value) => (typeof value === "string" ? value : "");
  const source = (value) => ({ name: text(value?.name), text: text(value?.text) });
  const policies = [...(given.policies ?? [])].slice(0, 2);
  return {
    policies: policies.map((policy) => ({ name: text(policy?.name), variant: text(policy?.variant), settings: text(policy?.settings), source: text(policy?.source) })),
    machine: source(given.machine),
    workload: source(given.workload),
    seed: Number.isSafeInteger(given.seed) && given.seed >= 0 ? given.seed : 1,
    duration: text(given.duration),
  };
}
