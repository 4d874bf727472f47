import { API_ERRORS, type ApiErrorCode } from '@opentill/contracts/http/api-errors';
import type { JsonSchema } from '@opentill/contracts/http/schemas';
import { fieldsTable } from './describe-schema.ts';
import { prose, table } from './markup.ts';
import type { Operation } from './render-operation.ts';

/** Errors of the HTTP layer, which no operation lists. */
const OF_ANY_REQUEST: readonly ApiErrorCode[] = [
  'BAD_REQUEST',
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'REQUEST_TIMEOUT',
  'EXPECTATION_FAILED',
  'HEADERS_TOO_LARGE',
];

interface ErrorText {
  readonly status: number;
  readonly msg: string;
  readonly operations: readonly string[];
}

/** All errors of the API in one table, with the operations that answer them. */
export function renderErrors(operations: readonly Operation[], envelope: JsonSchema): string {
  const rows = errorTexts(operations).map(({ status, msg, operations: names }) => [
    String(status),
    prose(msg),
    names.length === 0
      ? 'any request'
      : names.length === operations.length
        ? 'every operation'
        : names.map((name) => `<a href="#${name}">${name}</a>`).join(', '),
  ]);
  return `<section id="errors"><h2>Errors</h2><p>${prose('The HTTP status equals `code`, and `data` is null. The texts of `msg` do not change.')}</p>
${fieldsTable('Fields of an error', envelope)}
${table('Errors', ['Status', 'Text', 'Of'], rows)}</section>`;
}

function errorTexts(operations: readonly Operation[]): readonly ErrorText[] {
  const found = new Map<string, ErrorText>();
  const add = (status: number, msg: string, names: readonly string[]) => {
    const key = `${status} ${msg}`;
    found.set(key, { status, msg, operations: [...(found.get(key)?.operations ?? []), ...names] });
  };
  for (const { operationId, responses } of operations)
    for (const [status, { content }] of Object.entries(responses))
      for (const msg of Object.keys(content?.['application/json']?.examples ?? {}))
        add(Number(status), msg, [operationId]);
  for (const code of OF_ANY_REQUEST) {
    const { status, msg } = API_ERRORS[code];
    found.set(`${status} ${msg}`, { status, msg, operations: [] });
  }
  return [...found.values()].toSorted((a, b) => a.status - b.status);
}
