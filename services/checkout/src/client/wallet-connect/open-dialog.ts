import type { Say } from '../../texts/create-say.ts';

export interface DialogDeps {
  readonly title: string;
  readonly say: Say;
  /** Markup of the QR code of a text. */
  readonly drawCode: (text: string) => string;
}

export interface PairingDialog {
  showUri(uri: string): void;
  close(): void;
  /** Resolves when the payer or the page closes it. */
  readonly closed: Promise<void>;
}

/** The page's policy forbids a style element. Ordinary pages do not need these rules. */
const STYLE = `
dialog { width: min(22rem, 100vw - 2rem); padding: 1.25rem; border: 1px solid var(--line); border-radius: 1.25rem;
  background: var(--card); color: var(--text); }
dialog[open] { display: grid; justify-items: center; gap: 0.9rem; text-align: center; }
dialog::backdrop { background: rgb(0 0 0 / 55%); }`;

let style: CSSStyleSheet | undefined;

/** A spinner first, then code and link of the URI. */
export function openDialog({ title, say, drawCode }: DialogDeps): PairingDialog {
  if (style === undefined) {
    style = new CSSStyleSheet();
    style.replaceSync(STYLE);
    document.adoptedStyleSheets.push(style);
  }
  const dialog = document.createElement('dialog');
  const heading = element('h2', '', title);
  heading.id = 'connect';
  dialog.setAttribute('aria-labelledby', heading.id);
  const cancel = element('button', 'button plain', say('chooseAgain'));
  cancel.addEventListener('click', () => dialog.close());
  const place = element('i', 'spinner');
  dialog.append(heading, place, cancel);
  const closed = new Promise<void>((resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve();
    });
  });
  document.body.append(dialog);
  dialog.showModal();
  return {
    showUri(uri) {
      const code = element('div', 'code');
      code.innerHTML = drawCode(uri);
      const link = element('a', 'button', say('openWallet'));
      link.href = uri;
      place.replaceWith(element('p', 'advice', say('connectHint')), code, link, copyButton(uri, say));
    },
    close: () => dialog.close(),
    closed,
  };
}

/** The page's script copies `data-copy`, and its style shows the first or the last part. */
function copyButton(text: string, say: Say): HTMLElement {
  const button = element('button', 'copy');
  button.dataset['copy'] = text;
  button.append(element('span', '', say('copy')), element('span', '', say('copied')));
  return button;
}

function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  kind: string,
  text = '',
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  made.className = kind;
  made.textContent = text;
  return made;
}
