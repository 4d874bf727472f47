import { escapeHtml } from '../routes/escape-html.ts';

/** Text with inline code, which is all of Markdown that the descriptions use. */
export function prose(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}

/** A table that may be scrolled by itself, also by keyboard. @param label says what it is a table of */
export function table(label: string, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const columns = head.map((cell) => `<th scope="col">${cell}</th>`).join('');
  const lines = rows.map(
    ([first = '', ...rest]) =>
      `<tr><th scope="row">${first}</th>${rest.map((cell) => `<td>${cell}</td>`).join('')}</tr>`,
  );
  return `<div class="wide" tabindex="0" role="region" aria-label="${escapeHtml(label)}"><table><thead><tr>${columns}</tr></thead><tbody>${lines.join('')}</tbody></table></div>`;
}

/** Code that is to be read as it stands. */
export function listing(label: string, text: string): string {
  return `<pre tabindex="0" role="region" aria-label="${escapeHtml(label)}"><code>${escapeHtml(text)}</code></pre>`;
}
