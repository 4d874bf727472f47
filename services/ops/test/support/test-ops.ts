import { Writable } from 'node:stream';
import { expect } from 'vitest';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { OPS_ROUTES, type OpsOperation } from '@opentill/contracts/ops/catalog';
import { OPS_ERROR_SCHEMA } from '@opentill/contracts/ops/openapi';
import type { OperatorRole } from '@opentill/contracts/ops/roles';
import { answerEnvelope, type OpsRoute } from '@opentill/contracts/ops/route';
import { parseNetworkFile } from '@opentill/contracts/parse-network-file';
import { openDatabase, type Database } from '@opentill/db/database';
import { addOperator } from '@opentill/db/operators';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { TEST_SECRETS_KEY } from '@opentill/testkit/scenario';
import type { TestDatabase } from '@opentill/testkit/test-database';
import { createApp } from '../../src/app.ts';

const network = (chain: string, chainId: number, decimals: number) => ({
  chain,
  family: 'EVM',
  enabled: true,
  chainId,
  name: chain,
  rpcUrls: [
    'https://user:hunter2@node.example/v3/rpc-key-7c1',
    { url: 'https://other.example:8443/?key=rpc-key-7c2' },
  ],
  nativeSymbol: 'ETH',
  nativeDecimals: 18,
  confirmations: 3,
  blockTimeMs: 1_000,
  pollIntervalMs: 250,
  reorgWindow: 64,
  maxBlockRange: 100,
  bloom: true,
  tokens: [
    {
      symbol: 'USDT',
      contract: '0x5fbdb2315678afecb367f032d93f642f64180aa3',
      decimals,
      displayDecimals: 2,
      minAmount: '0.01',
      maxAmount: null,
    },
  ],
});

export const TEST_NETWORKS = parseNetworkFile(
  JSON.stringify({ networks: [network('ETH_SEPOLIA', 11155111, 6), network('BSC_TEST', 97, 18)] }),
  'test networks',
);

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // The tests state what they expect of it.
  // eslint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

export interface TestOps {
  readonly url: string;
  readonly database: Database;
  readonly tokens: Readonly<Record<OperatorRole, string>>;
  request(method: string, path: string, init?: RequestInit & { readonly token?: string }): Promise<Answered>;
  /** Validates the response. Default role: ADMIN. */
  call(
    operation: OpsOperation,
    input?: Record<string, unknown>,
    as?: OperatorRole | { token: string },
  ): Promise<Answered>;
  wakes(): number;
  log(): string;
  stop(): Promise<void>;
}

const ROLE_IDS: Readonly<Record<OperatorRole, string>> = {
  VIEWER: 'vera',
  SUPPORT: 'sam',
  FINANCE: 'fay',
  ADMIN: 'ada',
};

const TIMEOUT_MS = 60_000;

/** Uses a free port of this process, its own database role, and an operator of each role. */
export async function startTestOps(
  testDatabase: TestDatabase,
  { readStatementTimeoutMs = TIMEOUT_MS } = {},
): Promise<TestOps> {
  const open = (statementTimeoutMs: number) =>
    openDatabase({
      url: testDatabase.url('ops'),
      applicationName: 'ops under test',
      poolMax: 5,
      statementTimeoutMs,
      connectTimeoutMs: TIMEOUT_MS,
    });
  const [database, readDatabase, exportDatabase] = [
    open(TIMEOUT_MS),
    open(readStatementTimeoutMs),
    open(TIMEOUT_MS),
  ];
  const logged: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      logged.push(chunk.toString());
      done();
    },
  });
  let wakes = 0;
  const app = createApp({
    database,
    readDatabase,
    exportDatabase,
    networks: TEST_NETWORKS,
    secretsKey: TEST_SECRETS_KEY,
    clock: { now: () => new Date() },
    newId,
    logger: createLogger({ service: 'ops', level: 'debug', stream }),
    metrics: createMetrics('ops'),
    wakeRelay: () => (wakes += 1),
    brokerConnected: () => false,
    instance: 'ops-under-test',
    port: 0,
    host: '127.0.0.1',
  });
  const url = `http://127.0.0.1:${await app.start()}`;
  const tokens = {} as Record<OperatorRole, string>;
  for (const [role, operatorId] of Object.entries(ROLE_IDS) as [OperatorRole, string][]) {
    tokens[role] = (await addOperator(database.kysely, { operatorId, name: operatorId, role })) ?? '';
  }

  const request: TestOps['request'] = async (method, path, { token, ...init } = {}) => {
    const headers = new Headers(init.headers);
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
    const response = await fetch(url + path, { method, ...init, headers });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? JSON.parse(text) : undefined,
    };
  };
  return {
    url,
    database,
    tokens,
    request,
    async call(operation, input = {}, as = 'ADMIN') {
      const { method, path, init } = requestOf(operation, input);
      const answer = await request(method, path, {
        ...init,
        token: typeof as === 'string' ? tokens[as] : as.token,
      });
      expectDocumented(operation, answer);
      return answer;
    },
    wakes: () => wakes,
    log: () => logged.join(''),
    async stop() {
      await app.stop();
      await database.close();
      await readDatabase.close();
      await exportDatabase.close();
    },
  };
}

export function requestOf(operation: OpsOperation, input: Record<string, unknown>) {
  const route: OpsRoute = OPS_ROUTES[operation];
  const rest = { ...input };
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(rest[name]);
    delete rest[name];
    return encodeURIComponent(value);
  });
  if (route.body === undefined) {
    const query = new URLSearchParams(
      Object.entries(rest).map(([name, value]): [string, string] => [name, String(value)]),
    );
    return { method: route.method, path: query.size === 0 ? path : `${path}?${query}`, init: {} };
  }
  const init = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(rest) };
  return { method: route.method, path, init };
}

const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true, allErrors: true });
ajvFormats.default(ajv);
const compiled = new Map<string, ValidateFunction>();

/** Rejects unknown members too. */
function expectDocumented(operation: OpsOperation, answer: Answered): void {
  expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  const route: OpsRoute = OPS_ROUTES[operation];
  if (answer.status === 200 && route.kind === 'EXPORT') return;
  const key = answer.status === 200 ? operation : 'refusal';
  const validate =
    compiled.get(key) ?? ajv.compile(key === 'refusal' ? OPS_ERROR_SCHEMA : answerEnvelope(route));
  compiled.set(key, validate);
  expect({ operation, errors: validate(answer.body) ? [] : validate.errors, body: answer.body }).toEqual({
    operation,
    errors: [],
    body: answer.body,
  });
}
