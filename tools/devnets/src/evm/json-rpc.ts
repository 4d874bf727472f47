import { GatewayError } from '@opentill/domain/gateway-error';

/** `DEVNET_REFUSED`: the node returned an error; context contains `rpcCode` and `rpcMessage`. */
export type JsonRpcErrorCode = 'DEVNET_UNREACHABLE' | 'DEVNET_REFUSED';

interface JsonRpcAnswer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

export interface JsonRpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

const DEFAULT_TIMEOUT_MS = 60_000;

export async function callRpc<Result = unknown>(
  rpcUrl: string,
  method: string,
  params: readonly unknown[],
  options: { readonly timeoutMs?: number } = {},
): Promise<Result> {
  const [result] = await callRpcBatch(rpcUrl, [{ method, params }], options);
  return result as Result;
}

/** Returns results in the order of the calls. Throws if any call fails. */
export async function callRpcBatch(
  rpcUrl: string,
  calls: readonly JsonRpcCall[],
  options: { readonly timeoutMs?: number } = {},
): Promise<unknown[]> {
  const requests = calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call }));
  const answers = await post(rpcUrl, JSON.stringify(requests), options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  const byId = new Map(answers.map((answer) => [answer.id, answer]));
  return calls.map((call, id) => resultOf(rpcUrl, call, byId.get(id)));
}

async function post(rpcUrl: string, body: string, timeoutMs: number): Promise<JsonRpcAnswer[]> {
  try {
    const response = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(timeoutMs),
    });
    const answers: unknown = await response.json();
    if (!Array.isArray(answers))
      throw new Error(`not a batch response: ${JSON.stringify(answers).slice(0, 200)}`);
    return answers as JsonRpcAnswer[];
  } catch (cause) {
    throw new GatewayError<JsonRpcErrorCode>(
      'DEVNET_UNREACHABLE',
      `The devnet at ${rpcUrl} does not answer.`,
      {
        retryable: true,
        context: { rpcUrl },
        cause,
      },
    );
  }
}

function resultOf(rpcUrl: string, call: JsonRpcCall, answer: JsonRpcAnswer | undefined): unknown {
  if (answer !== undefined && answer.error === undefined) return answer.result;
  const rpcMessage = answer?.error?.message ?? 'no answer in the batch';
  throw new GatewayError<JsonRpcErrorCode>('DEVNET_REFUSED', `${call.method}: ${rpcMessage}`, {
    retryable: false,
    context: { rpcUrl, method: call.method, rpcCode: answer?.error?.code, rpcMessage },
  });
}
