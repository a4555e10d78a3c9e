// Runs the script that the page carries compressed, in base64: less than half as large.
(async () => {
  const packed = Uint8Array.from(atob(document.getElementById("packed").textContent), (c) => c.charCodeAt(0));
  const text = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  const script = document.createElement("script");
  script.textContent = await text;
  document.body.append(script);
})();
