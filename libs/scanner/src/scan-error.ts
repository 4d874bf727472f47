import { isReaderError } from '@opentill/chain/reader-error';
import { GatewayError } from '@opentill/domain/gateway-error';

/** Why a scanner stopped where it stands. Nothing was written. */
export type ScanErrorCode =
  /** The chain forked below everything that is stored, or below a block it had called final. An operator decides. */
  | 'REORG_TOO_DEEP'
  /** The node's head lies below every stored block: it lags so far that it can't tell anything. Retryable. */
  | 'NODE_FAR_BEHIND'
  /** The verified read saw other blocks than the seen pass: two nodes, or a reorganisation just now. Retryable. */
  | 'BRANCHES_DIFFER'
  /** One source shows another branch from below the verified block on, and no second one does so far. Retryable. */
  | 'BRANCH_NOT_VOUCHED'
  /** The blocks that make something deep enough are known to one source only so far: it is waited for. Retryable. */
  | 'DEPTH_NOT_VOUCHED'
  /** The stored blocks and the cursor don't fit together. An operator decides. */
  | 'STORED_CHAIN_BROKEN'
  /** The chain's validators signed another block than was read: nodes made up what was read. An operator looks. */
  | 'NOT_CERTIFIED'
  /** The cursor in the database is not the one this replica goes on from. Retryable: it is loaded again. */
  | 'CURSOR_MOVED';

const PERMANENT: ReadonlySet<ScanErrorCode> = new Set<ScanErrorCode>([
  'REORG_TOO_DEEP',
  'STORED_CHAIN_BROKEN',
]);

export type ScanError = GatewayError<ScanErrorCode>;

/** Makes a scanner's error; whether it is retryable follows from the code. */
export function scanError(
  code: ScanErrorCode,
  message: string,
  context: Readonly<Record<string, unknown>> = {},
  cause?: unknown,
): ScanError {
  return new GatewayError(code, message, { retryable: !PERMANENT.has(code), context, cause });
}

/** Whether a chain stands still until somebody looks: the error will not pass by itself, though it is tried again. */
export function isHalt(error: unknown): error is ScanError {
  return error instanceof GatewayError && PERMANENT.has(error.code as ScanErrorCode);
}

/** Whether answers contradict one another, or what was seen: two nodes, or a reorganisation just now. */
export function isContradiction(error: unknown): boolean {
  const isOfBranches = isScanError(error, 'BRANCHES_DIFFER') || isScanError(error, 'BRANCH_NOT_VOUCHED');
  return isReaderError(error, 'INCONSISTENT_ANSWER') || isOfBranches;
}

/** Whether `error` is a GatewayError with this code of a scanner. */
export function isScanError(error: unknown, code: ScanErrorCode): error is ScanError {
  return error instanceof GatewayError && error.code === code;
}
