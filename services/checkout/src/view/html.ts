/** Safe to insert into a page. Only `markup` creates it. */
export interface Html {
  readonly html: string;
}

type Value = Html | string | number | null | false | readonly Html[];

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}

/** Escapes texts, so attributes must be quoted. Inserts markup unchanged; null and false are empty. */
export function markup(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  const html = parts.reduce((made, part, place) => made + toHtml(values[place - 1] ?? null) + part);
  return { html };
}

function toHtml(value: Value): string {
  if (value === null || value === false) return '';
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value));
  return 'html' in value ? value.html : value.map(({ html }) => html).join('');
}
