import { GatewayError } from '@opentill/domain/gateway-error';

export type BackupErrorCode =
  /** The database does not belong to a gateway of this version, or contains objects that a backup cannot keep. */
  | 'BACKUP_NOT_POSSIBLE'
  | 'BACKUP_DAMAGED'
  /** A newer version wrote the backup, or its migrations differ from those of this version. */
  | 'BACKUP_OF_ANOTHER_VERSION'
  /** The database to restore into is not empty, or a file to be written exists. */
  | 'RESTORE_NOT_EMPTY'
  /** The restored data differs from the backup; rolled back. */
  | 'RESTORE_FAILED'
  /** Transactions of wallets need a decision, a search or more time; the report lists them. */
  | 'RESTORE_NOT_RECONCILED';

export function backupError(
  code: BackupErrorCode,
  message: string,
  { cause, retryable = false }: { readonly cause?: unknown; readonly retryable?: boolean } = {},
): GatewayError<BackupErrorCode> {
  return new GatewayError(code, message, { retryable, ...(cause === undefined ? {} : { cause }) });
}
