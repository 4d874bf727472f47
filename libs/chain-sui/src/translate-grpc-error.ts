import { RpcError } from '@mysten/sui/grpc';
import type { ReaderError, ReaderErrorCode } from '@opentill/chain/reader-error';
import { readerError } from '@opentill/chain/reader-error';
import { codeOfHttpStatus } from '@opentill/chain-sources/http-status';
import { boundedText } from '@opentill/chain-sources/node-text';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Traffic } from './post-grpc.ts';

/** By the name of gRPC's status (sui.md section 3.5). What is not here is a fault of the node or of the way to it. */
const CODES: Readonly<Partial<Record<string, ReaderErrorCode>>> = {
  NOT_FOUND: 'BLOCK_NOT_FOUND',
  // ListCheckpoints says so of a start below what the node has kept.
  OUT_OF_RANGE: 'BLOCK_NOT_FOUND',
  UNIMPLEMENTED: 'RPC_METHOD_MISSING',
  PERMISSION_DENIED: 'RPC_FORBIDDEN',
  UNAUTHENTICATED: 'RPC_FORBIDDEN',
  RESOURCE_EXHAUSTED: 'RPC_RATE_LIMITED',
  INVALID_ARGUMENT: 'RPC_REFUSED',
  FAILED_PRECONDITION: 'RPC_REFUSED',
  ABORTED: 'RPC_REFUSED',
  ALREADY_EXISTS: 'RPC_REFUSED',
};

export interface FailedQuestion {
  readonly endpoint: string;
  /** The caller's. */
  readonly signal: AbortSignal | undefined;
  /** Whether it ended by its own time. */
  readonly timedOut: boolean;
  /** `status`: of the last answer; undefined where none came. */
  readonly traffic: Pick<Traffic, 'method' | 'status' | 'retryAfterMs'>;
}

/**
 * What a call to a node failed with, as one of a reader's errors. `context.status` is gRPC's name, and the cause what the client
 * threw. Undefined for what is no failure of a call: a mistake of ours.
 */
export function translateGrpcError(
  error: unknown,
  { endpoint, signal, timedOut, traffic }: FailedQuestion,
): ReaderError | undefined {
  const { method, status: httpStatus, retryAfterMs } = traffic;
  if (error instanceof GatewayError) return error as ReaderError;
  const context = { endpoint, method };
  if (signal?.aborted === true) return readerError('READ_ABORTED', 'the read was aborted', context, error);
  if (timedOut) return readerError('RPC_UNAVAILABLE', 'no answer in time', context, error);
  if (!(error instanceof RpcError)) return undefined;
  const status = error.code;
  // A proxy before the node speaks HTTP, and its 404 is no node's word about a block.
  const byHttp = httpStatus === undefined ? undefined : codeOfHttpStatus(httpStatus);
  const code = byHttp ?? CODES[status] ?? 'RPC_UNAVAILABLE';
  const asked = code === 'RPC_RATE_LIMITED' && retryAfterMs !== undefined ? { retryAfterMs } : {};
  return readerError(code, boundedText(error.message), { ...context, status, httpStatus, ...asked }, error);
}
