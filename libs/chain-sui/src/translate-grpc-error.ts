import { RpcError } from '@mysten/sui/grpc';
import type { ReaderError, ReaderErrorCode } from '@opentill/chain/reader-error';
import { readerError } from '@opentill/chain/reader-error';
import { codeOfHttpStatus } from '@opentill/chain-sources/http-status';
import { boundedText } from '@opentill/chain-sources/node-text';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Traffic } from './post-grpc.ts';

/** Any other gRPC status is a fault of the node or of the connection. */
const CODES: Readonly<Partial<Record<string, ReaderErrorCode>>> = {
  NOT_FOUND: 'BLOCK_NOT_FOUND',
  // The range of ListCheckpoints starts below the pruned checkpoints.
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
  readonly signal: AbortSignal | undefined;
  readonly timedOut: boolean;
  readonly traffic: Pick<Traffic, 'method' | 'status' | 'retryAfterMs'>;
}

/** `context.status` is the gRPC status name, and the cause is the client's error. Undefined for a programming error. */
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
  // A proxy in front of the node answers by HTTP status; its 404 does not mean that a checkpoint is missing.
  const byHttp = httpStatus === undefined ? undefined : codeOfHttpStatus(httpStatus);
  const code = byHttp ?? CODES[status] ?? 'RPC_UNAVAILABLE';
  const asked = code === 'RPC_RATE_LIMITED' && retryAfterMs !== undefined ? { retryAfterMs } : {};
  return readerError(code, boundedText(error.message), { ...context, status, httpStatus, ...asked }, error);
}
