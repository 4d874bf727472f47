import type { IncomingMessage } from 'node:http';

export function queryOf({ url = '' }: Pick<IncomingMessage, 'url'>): URLSearchParams {
  const mark = url.indexOf('?');
  return new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
}

/** Value of a parameter that occurs once and is not blank; else undefined. */
export function singleParameter(query: URLSearchParams, name: string): string | undefined {
  const [value, ...more] = query.getAll(name);
  return value === undefined || value.trim() === '' || more.length > 0 ? undefined : value;
}
