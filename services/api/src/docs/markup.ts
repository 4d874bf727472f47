import { escapeHtml } from '../routes/escape-html.ts';

/** Renders text with inline code, the only Markdown in the descriptions. */
export function prose(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}

/** Table that scrolls by itself, also with the keyboard. @param label accessible name of the table */
export function table(label: string, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const columns = head.map((cell) => `<th scope="col">${cell}</th>`).join('');
  const lines = rows.map(
    ([first = '', ...rest]) =>
      `<tr><th scope="row">${first}</th>${rest.map((cell) => `<td>${cell}</td>`).join('')}</tr>`,
  );
  return `<div class="wide" tabindex="0" role="region" aria-label="${escapeHtml(label)}"><table><thead><tr>${columns}</tr></thead><tbody>${lines.join('')}</tbody></table></div>`;
}

export function listing(label: string, text: string): string {
  return `<pre tabindex="0" role="region" aria-label="${escapeHtml(label)}"><code>${escapeHtml(text)}</code></pre>`;
}
