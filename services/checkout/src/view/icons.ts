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
  code: icon('<path d="M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h2v2h-2zM18 18h2v2h-2zM18 14h2M14 20h2"/>'),
  world: icon(
    '<circle cx="12" cy="12" r="9"/><path d="M3 12h18M12 3c2.6 2.6 3.9 5.6 3.9 9s-1.3 6.4-3.9 9c-2.6-2.6-3.9-5.6-3.9-9s1.3-6.4 3.9-9z"/>',
  ),
} as const;

/** The sign of an end: payment, refusal, or time that is over. */
export function seal(name: 'done' | 'time' | 'close' | 'warning'): Html {
  return markup`<div class="seal">${ICONS[name]}</div>`;
}

/** `share` from 0 to 1; null for a ring that turns while the end is unknown. */
export function ring(share: number | null, content: Html | string | null = null): Html {
  const part = Math.round((share ?? 0.25) * 100);
  return markup`<div class="ring"${share === null && markup` data-turning`}><svg viewBox="0 0 40 40" aria-hidden="true" focusable="false"><circle cx="20" cy="20" r="17" /><circle class="part" cx="20" cy="20" r="17" pathLength="100" stroke-dasharray="${part} 100" /></svg>${content}</div>`;
}
