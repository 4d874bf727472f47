import { isReaderError } from '@opentill/chain/reader-error';

/** Whether a node was found to leave out balance changes: see mustNotBeMute. */
export function lacksBalanceChanges(error: unknown): boolean {
  return isReaderError(error, 'INCONSISTENT_ANSWER') && error.context['lacksBalanceChanges'] === true;
}
