import { isReaderError } from '@opentill/chain/reader-error';

export function lacksBalanceChanges(error: unknown): boolean {
  return isReaderError(error, 'INCONSISTENT_ANSWER') && error.context['lacksBalanceChanges'] === true;
}
