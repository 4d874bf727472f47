import { setTimeout as delay } from 'node:timers/promises';
import { GrpcTypes } from '@mysten/sui/grpc';
import { isRefusal, refuse } from '../chain/refusal.ts';
import { EXECUTION_HANDLERS } from './execution-service.ts';
import type { CallStatus } from './frames.ts';
import { LEDGER_HISTORY_HANDLERS } from './ledger-history.ts';
import { LEDGER_POINT_HANDLERS } from './ledger-service.ts';
import type { Call, Handler } from './methods.ts';
import type { Node } from './node.ts';
import { STATE_HANDLERS } from './state-service.ts';
import { SUBSCRIPTION_HANDLERS } from './subscription-service.ts';

interface Codec {
  toBinary(message: unknown): Uint8Array;
  fromBinary(bytes: Uint8Array): unknown;
  create(): object;
}

export interface Method {
  readonly name: string;
  readonly input: Codec;
  readonly output: Codec;
  readonly handler: Handler | undefined;
}

export type Methods = ReadonlyMap<string, Method>;

export function createMethods(): Methods {
  const handlers = {
    ...LEDGER_POINT_HANDLERS,
    ...LEDGER_HISTORY_HANDLERS,
    ...STATE_HANDLERS,
    ...EXECUTION_HANDLERS,
    ...SUBSCRIPTION_HANDLERS,
  };
  const services = [
    GrpcTypes.LedgerService,
    GrpcTypes.StateService,
    GrpcTypes.TransactionExecutionService,
    GrpcTypes.SubscriptionService,
    GrpcTypes.MovePackageService,
    GrpcTypes.NameService,
    GrpcTypes.SignatureVerificationService,
  ];
  return new Map(
    services.flatMap(({ typeName, methods }) =>
      methods.map(({ name, I, O }): [string, Method] => [
        `/${typeName}/${name}`,
        { name, input: I as Codec, output: O as Codec, handler: handlers[name] },
      ]),
    ),
  );
}

const CODES: Readonly<Record<string, number>> = {
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
};
const INTERNAL = 13;

/** Outcome of a call; `cut` closes the connection without a status. */
export type Ending = CallStatus | 'cut';

export interface RunningCall {
  readonly node: Node;
  readonly method: Method | undefined;
  readonly path: string;
  readonly message: Uint8Array | undefined;
  readonly call: Omit<Call, 'method'>;
  /** Resolves when the client can receive more. */
  readonly send: (message: Uint8Array) => Promise<void>;
}

/** Never throws. */
export async function runCall(running: RunningCall): Promise<Ending> {
  try {
    return await run(running);
  } catch (error) {
    if (isRefusal(error)) return { code: CODES[error.code] ?? INTERNAL, message: error.message };
    return {
      code: INTERNAL,
      message: error instanceof Error ? (error.stack ?? error.message) : String(error),
    };
  }
}

async function run({ node, method, path, message, call, send }: RunningCall): Promise<Ending> {
  const handler = method?.handler;
  if (method === undefined || handler === undefined) return refuse('UNIMPLEMENTED', `unknown method ${path}`);
  const { name } = method;
  if ((await applyFaults(node, name)) === 'cut') return 'cut';
  if (message === undefined) return refuse('INTERNAL', 'the request has no message');
  const request = method.input.fromBinary(message);
  const write = async (response: unknown): Promise<void> =>
    send(method.output.toBinary(Object.assign(method.output.create(), response)));
  const context: Call = { ...call, method: name };
  if (handler.kind === 'unary') {
    const response = await handler.run(node, request, context);
    if (name === 'ExecuteTransaction' && node.faults.take('lose-execute-answer', name)) return 'cut';
    await write(response);
  } else {
    for await (const response of handler.run(node, request, context)) await write(response);
    if (call.signal.aborted) return 'cut';
  }
  return { code: 0, message: '' };
}

async function applyFaults({ faults }: Node, method: string): Promise<'cut' | undefined> {
  const latency = faults.take('latency', method);
  if (latency !== undefined) await delay(latency.delayMs);
  if (!faults.admit(method, Date.now())) refuse('RESOURCE_EXHAUSTED', 'Too many requests');
  const status = faults.take('status', method);
  if (status !== undefined) refuse(status.code, status.message ?? status.code);
  return faults.take('cut', method) === undefined ? undefined : 'cut';
}
