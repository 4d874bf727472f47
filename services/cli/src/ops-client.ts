import {
  OPS_ROUTES,
  type OperationOf,
  type OpsAnswer,
  type OpsInput,
  type OpsOperation,
} from '@opentill/contracts/ops/catalog';
import type { OpsRoute } from '@opentill/contracts/ops/route';
import { operatorIdOfToken } from '@opentill/db/operators';
import { GatewayError } from '@opentill/domain/gateway-error';
import { readConfig } from '@opentill/runtime/config';
import { readPrivateFile } from '@opentill/wallet/read-private-file';
import { tableLine } from './print-table.ts';
import { OPERATOR_CONFIG_SCHEMA, requiredVariable } from './config.ts';
import { cliError, usage, type CliContext } from './context.ts';

export type Given<I> = { readonly [K in keyof I]: object extends Pick<I, K> ? I[K] | undefined : I[K] };

/** An answer as an ops service of an earlier version sends it: without the members `Added`, which came later. */
export type EarlierAnswer<A, Added extends keyof A> = Omit<A, Added> & { readonly [M in Added]?: A[M] };

export interface OpsClient {
  /** @throws GatewayError with the service's code and message */
  call<O extends OperationOf<'READ' | 'ACT'>>(operation: O, input: Given<OpsInput<O>>): Promise<OpsAnswer<O>>;
  /** Reads at most `max` elements, over several pages. */
  list<O extends OperationOf<'LIST'>>(
    operation: O,
    input: Given<Omit<OpsInput<O>, 'limit' | 'cursor'>>,
    max: number,
  ): Promise<readonly OpsAnswer<O>[]>;
  download<O extends OperationOf<'EXPORT'>>(
    operation: O,
    input: OpsInput<O>,
  ): Promise<AsyncIterable<Uint8Array>>;
}

const CALL_TIMEOUT_MS = 30_000;
const DOWNLOAD_TIMEOUT_MS = 3_600_000;
const PAGE_MAX = 200;
const RETRYABLE_FROM = 500;

/** Allows only TLS or this machine, because it sends a token. ALLOW_HTTP_OPS permits plain HTTP. */
export async function openOps(context: CliContext): Promise<OpsClient> {
  const url = requiredVariable(context, 'OPS_URL').replace(/\/$/, '');
  requireSafe(context, url);
  const tokenFile = requiredVariable(context, 'OPS_TOKEN_FILE');
  const token = (await readPrivateFile(tokenFile)).trim();
  // A different secret in this file must not leave the process, neither in a request nor in an error about a header.
  if (operatorIdOfToken(token) === undefined)
    throw usage(`OPS_TOKEN_FILE: ${tokenFile} does not contain an operator's token.`);

  async function ask(operation: OpsOperation, input: object, timeoutMs: number): Promise<Response> {
    const { path, init } = requestOf(operation, input);
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${token}`);
    let response: Response;
    try {
      response = await fetch(url + path, {
        ...init,
        headers,
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
      });
    } catch (cause) {
      throw cliError('OPS_UNREACHABLE', `The ops service at ${url} does not answer`, {
        retryable: true,
        cause,
      });
    }
    if (response.status === 200) return response;
    throw await refusalOf(response, url);
  }
  const json = async (operation: OpsOperation, input: object) =>
    (await (await ask(operation, input, CALL_TIMEOUT_MS)).json()) as {
      data: unknown;
      nextCursor?: string | null;
    };

  return {
    async call<O extends OperationOf<'READ' | 'ACT'>>(operation: O, input: object) {
      return (await json(operation, input)).data as OpsAnswer<O>;
    },
    async list<O extends OperationOf<'LIST'>>(operation: O, input: object, max: number) {
      const found: OpsAnswer<O>[] = [];
      let cursor: string | undefined;
      do {
        const limit = Math.min(PAGE_MAX, max - found.length);
        const page = await json(operation, { ...input, limit, ...(cursor !== undefined && { cursor }) });
        found.push(...(page.data as OpsAnswer<O>[]));
        cursor = page.nextCursor ?? undefined;
      } while (cursor !== undefined && found.length < max);
      return found;
    },
    async download(operation, input) {
      const { body } = await ask(operation, input, DOWNLOAD_TIMEOUT_MS);
      return (body ?? []) as unknown as AsyncIterable<Uint8Array>;
    },
  };
}

export async function callOps<O extends OperationOf<'READ' | 'ACT'>>(
  context: CliContext,
  operation: O,
  input: Given<OpsInput<O>>,
): Promise<OpsAnswer<O>> {
  return (await openOps(context)).call(operation, input);
}

/** Prints at most `max` elements, one line each. */
export async function printList<O extends OperationOf<'LIST'>>(
  context: CliContext,
  operation: O,
  input: Given<Omit<OpsInput<O>, 'limit' | 'cursor'>>,
  max: number,
  cellsOf: (element: OpsAnswer<O>) => Parameters<typeof tableLine>[0],
): Promise<void> {
  const ops = await openOps(context);
  for (const element of await ops.list(operation, input, max)) context.print(tableLine(cellsOf(element)));
}

function requestOf(
  operation: OpsOperation,
  input: object,
): { readonly path: string; readonly init: RequestInit } {
  const route: OpsRoute = OPS_ROUTES[operation];
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(rest.get(name));
    rest.delete(name);
    return encodeURIComponent(value);
  });
  if (route.body !== undefined) {
    const init = { method: route.method, headers: { 'content-type': 'application/json' } };
    return { path, init: { ...init, body: JSON.stringify(Object.fromEntries(rest)) } };
  }
  const query = new URLSearchParams(
    [...rest].map(([name, value]): [string, string] => [name, String(value)]),
  );
  return { path: query.size === 0 ? path : `${path}?${query.toString()}`, init: { method: route.method } };
}

async function refusalOf(response: Response, url: string): Promise<GatewayError> {
  const retryable = response.status >= RETRYABLE_FROM || response.status === 429;
  const text = await response.text();
  const error = readError(text);
  if (error !== undefined) return new GatewayError(error.code, error.message, { retryable });
  return cliError(
    'OPS_UNREACHABLE',
    `The server at ${url} answered ${response.status} and is not the ops service. Check OPS_URL.`,
    { retryable },
  );
}

function readError(text: string): { readonly code: string; readonly message: string } | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: { code?: unknown; message?: unknown } };
    const { code, message } = error ?? {};
    return typeof code === 'string' && typeof message === 'string' ? { code, message } : undefined;
  } catch {
    return undefined;
  }
}

const THIS_MACHINE = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

function requireSafe({ env }: CliContext, url: string): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'https:' || THIS_MACHINE.test(hostname)) return;
  const { ALLOW_HTTP_OPS } = OPERATOR_CONFIG_SCHEMA.properties;
  const config = readConfig<{ ALLOW_HTTP_OPS: boolean }>({ properties: { ALLOW_HTTP_OPS } }, env);
  if (config.ALLOW_HTTP_OPS) return;
  throw usage('OPS_URL must be https, unless it is on this machine or ALLOW_HTTP_OPS is set.');
}
