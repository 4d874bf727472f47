import type { Request } from 'express';

/** The query's parameters. */
export function queryOf(request: Request): URLSearchParams {
  const { url } = request;
  const mark = url.indexOf('?');
  return new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
}

/** A parameter that stands there once and is not blank; one given twice is nobody's. */
export function singleParameter(query: URLSearchParams, name: string): string | undefined {
  const [value, ...more] = query.getAll(name);
  return value === undefined || value.trim() === '' || more.length > 0 ? undefined : value;
}
