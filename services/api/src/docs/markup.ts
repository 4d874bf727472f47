import { escapeHtml } from '../routes/escape-html.ts';

/** Renders text with inline code, the only Markdown in the descriptions. */
export function prose(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}

/** Phones show shorter cells next to each other, in characters of HTML. */
const SHORT = 24;

/**
 * Table that scrolls by itself, also with the keyboard. Phones show its rows as blocks, so the roles are explicit.
 * @param label accessible name of the table
 */
export function table(label: string, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const columns = head.map((cell) => `<th scope="col" role="columnheader">${cell}</th>`).join('');
  const lines = rows.map(([first = '', ...rest]) => {
    const cells = rest.map((cell, at) => {
      const kind = cell.length <= SHORT ? ' class="short"' : '';
      return `<td role="cell"${kind} data-label="${head[at + 1] ?? ''}">${cell}</td>`;
    });
    return `<tr role="row"><th scope="row" role="rowheader">${first}</th>${cells.join('')}</tr>`;
  });
  return `<div class="wide" tabindex="0" role="region" aria-label="${escapeHtml(label)}"><table role="table"><thead role="rowgroup"><tr role="row">${columns}</tr></thead><tbody role="rowgroup">${lines.join('')}</tbody></table></div>`;
}

/** Code with a button that copies it. @param label accessible name of the code */
export function listing(label: string, text: string): string {
  return `<div class="listing"><pre tabindex="0" role="region" aria-label="${escapeHtml(label)}"><code>${escapeHtml(text)}</code></pre></div>`;
}

export function folded(summary: string, html: string): string {
  return `<details><summary>${summary}</summary>${html}</details>`;
}

/** Tabs that work without a script. @param name unique on the page */
export function tabs(
  name: string,
  legend: string,
  panels: readonly { readonly label: string; readonly html: string }[],
): string {
  const parts = panels.map(({ label, html }, at) => {
    const id = `${name}-${at}`;
    return `<input type="radio" name="${name}" id="${id}"${at === 0 ? ' checked' : ''}><label for="${id}">${label}</label><div class="panel">${html}</div>`;
  });
  return `<fieldset class="tabs"><legend>${legend}</legend>${parts.join('\n')}</fieldset>`;
}
