/** Adds copy buttons, and folds the menu of phones after a choice. The page is complete without it. */
export const PAGE_SCRIPT = `
for (const listing of document.querySelectorAll('.listing')) {
  const code = listing.querySelector('code');
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.setAttribute('aria-label', 'Copy: ' + listing.querySelector('pre').getAttribute('aria-label'));
  button.addEventListener('click', async () => {
    try { await navigator.clipboard.writeText(code.textContent); }
    catch {
      getSelection().selectAllChildren(code);
      document.execCommand('copy');
    }
    button.textContent = 'Copied';
    document.getElementById('copied').textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
      document.getElementById('copied').textContent = '';
    }, 2000);
  });
  listing.prepend(button);
}
const menu = document.querySelector('nav details');
menu.addEventListener('click', ({ target }) => { if (target.closest('a')) menu.open = false; });
`;
