import { isReaderError } from '@opentill/chain/reader-error';
import { GatewayError } from '@opentill/domain/gateway-error';

export type ScanErrorCode =
  /** The chain forked below all stored blocks or below a finalized block. An operator decides. */
  | 'REORG_TOO_DEEP'
  /** The node's head is below every stored block, so its answers are useless. Retryable. */
  | 'NODE_FAR_BEHIND'
  /** The verified read returned other blocks than the seen pass: two nodes, or a reorganisation. Retryable. */
  | 'BRANCHES_DIFFER'
  /** Two sources name another block in place of the verified one. The scanner searches the fork. Retryable. */
  | 'VERIFIED_BLOCK_LEFT'
  /** Only one source shows a branch that forks below the verified block. Retryable. */
  | 'BRANCH_NOT_VOUCHED'
  /** Only one source has the blocks that would make the next block deep enough. Retryable. */
  | 'DEPTH_NOT_VOUCHED'
  /** Stored blocks and cursor do not match. An operator decides. */
  | 'STORED_CHAIN_BROKEN'
  /** The validators signed another block than the scanner stored: nodes invented blocks. An operator decides. */
  | 'NOT_CERTIFIED'
  /** The cursor in the database differs from this replica's. Retryable: the state is loaded again. */
  | 'CURSOR_MOVED';

const PERMANENT: ReadonlySet<ScanErrorCode> = new Set<ScanErrorCode>([
  'REORG_TOO_DEEP',
  'STORED_CHAIN_BROKEN',
]);

export type ScanError = GatewayError<ScanErrorCode>;

export function scanError(
  code: ScanErrorCode,
  message: string,
  context: Readonly<Record<string, unknown>> = {},
  cause?: unknown,
): ScanError {
  return new GatewayError(code, message, { retryable: !PERMANENT.has(code), context, cause });
}

/** Halts the chain until an operator decides. The round is retried, but will not succeed by itself. */
export function isHalt(error: unknown): error is ScanError {
  return error instanceof GatewayError && PERMANENT.has(error.code as ScanErrorCode);
}

/** Answers contradict each other or the seen blocks: two nodes, or a reorganisation. */
export function isContradiction(error: unknown): boolean {
  const codes: readonly ScanErrorCode[] = ['BRANCHES_DIFFER', 'VERIFIED_BLOCK_LEFT', 'BRANCH_NOT_VOUCHED'];
  return isReaderError(error, 'INCONSISTENT_ANSWER') || codes.some((code) => isScanError(error, code));
}

export function isScanError(error: unknown, code: ScanErrorCode): error is ScanError {
  return error instanceof GatewayError && error.code === code;
}
