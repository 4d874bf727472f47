import { markup, type Html } from './html.ts';

const icon = (paths: string): Html => ({
  html: `<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">${paths}</svg>`,
});

/** Shown next to words, never instead of them. */
export const ICONS = {
  copy: icon(
    '<rect x="9" y="9" width="11" height="11" rx="2"/><path d="M5 15H4a2 2 0 0 1-2-2V4a2 2 0 0 1 2-2h9a2 2 0 0 1 2 2v1"/>',
  ),
  done: icon('<path d="M5 12.5l4.5 4.5L19 7.5"/>'),
  warning: icon(
    '<path d="M12 9v4.5M12 17.2v.1M10.3 3.9 1.9 18.1A2 2 0 0 0 3.6 21h16.8a2 2 0 0 0 1.7-2.9L13.7 3.9a2 2 0 0 0-3.4 0z"/>',
  ),
  wallet: icon('<path d="M20 7V5a2 2 0 0 0-2-2H5a3 3 0 0 0 0 6h15v11H5a3 3 0 0 1-3-3V6M16.5 14.5h.1"/>'),
  time: icon('<circle cx="12" cy="12" r="9"/><path d="M12 7v5l3 2"/>'),
  close: icon('<path d="M6 6l12 12M18 6 6 18"/>'),
  world: icon(
    '<circle cx="12" cy="12" r="9"/><path d="M3 12h18M12 3c2.6 2.6 3.9 5.6 3.9 9s-1.3 6.4-3.9 9c-2.6-2.6-3.9-5.6-3.9-9s1.3-6.4 3.9-9z"/>',
  ),
} as const;

export function seal(name: 'done' | 'time' | 'close'): Html {
  return markup`<div class="seal">${ICONS[name]}</div>`;
}
