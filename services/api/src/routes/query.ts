import type { Request } from 'express';

export function queryOf(request: Request): URLSearchParams {
  const { url } = request;
  const mark = url.indexOf('?');
  return new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
}

/** Value of a parameter that occurs once and is not blank; else undefined. */
export function singleParameter(query: URLSearchParams, name: string): string | undefined {
  const [value, ...more] = query.getAll(name);
  return value === undefined || value.trim() === '' || more.length > 0 ? undefined : value;
}
