/**
 * Adds copy buttons, opens the folded parts that a link leads to, and folds the menu of phones after a choice. The page
 * is complete without it.
 */
export const PAGE_SCRIPT = `
let copied; // resets the button that was pressed last
for (const listing of document.querySelectorAll('.listing')) {
  const code = listing.querySelector('code');
  const button = document.createElement('button');
  button.type = 'button';
  const say = (text) => {
    button.textContent = text;
    button.setAttribute('aria-label', text + ': ' + listing.querySelector('pre').getAttribute('aria-label'));
  };
  say('Copy');
  button.addEventListener('click', async () => {
    try { await navigator.clipboard.writeText(code.textContent); }
    catch {
      getSelection().selectAllChildren(code);
      document.execCommand('copy');
    }
    copied?.('Copy');
    copied = say;
    say('Copied');
    document.getElementById('copied').textContent = button.getAttribute('aria-label');
  });
  listing.prepend(button);
}
const menu = document.querySelector('nav details');
const wide = matchMedia('(min-width:60rem)');
const fold = () => { menu.open = wide.matches; };
fold();
wide.addEventListener('change', fold);
menu.addEventListener('click', ({ target }) => { if (target.closest('a')) fold(); });
const unfold = () => {
  const folded = document.getElementById(location.hash.slice(1))?.querySelector('details');
  if (folded) folded.open = true;
};
unfold();
addEventListener('hashchange', unfold);
`;
