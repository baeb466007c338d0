// SPDX-License-Identifier: GPL-2.0-only
// A service worker: what was fetched once is there without a network, too.  With one, the newest is fetched.

const KEPT = "schedlab";

async function answer(request) {
  const kept = await caches.open(KEPT);
  try {
    const response = await fetch(request);
    if (response.ok) await kept.put(request, response.clone());
    return response;
  } catch (error) {
    const response = await kept.match(request, { ignoreSearch: true });
    if (response) return response;
    throw error;
  }
}

onfetch = (event) => {
  const own = new URL(event.request.url).origin === location.origin;
  if (own && event.request.method === "GET") event.respondWith(answer(event.request));
};

oninstall = () => skipWaiting();
onactivate = (event) => event.waitUntil(clients.claim());
