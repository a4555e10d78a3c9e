// A click on a picture shows it as large as the window.
{
  const dialog = document.body.appendChild(document.createElement('dialog'));
  for (const button of document.querySelectorAll('button.picture')) button.addEventListener('click', () => {
    const large = button.firstElementChild.cloneNode(true), box = large.viewBox.baseVal;
    large.style.width = `min(90vw, ${84 * box.width / box.height}vh)`;
    dialog.replaceChildren(large);
    dialog.showModal();
  });
  dialog.addEventListener('click', () => dialog.close());
}
