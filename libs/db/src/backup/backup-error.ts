import { GatewayError } from '@opentill/domain/gateway-error';

export type BackupErrorCode =
  /** The database is not one of this version's gateway, or has something in it that a backup does not know how to keep. */
  | 'BACKUP_NOT_POSSIBLE'
  /** A file of the backup is missing, or is not what the backup wrote. */
  | 'BACKUP_DAMAGED'
  /** A newer version wrote the backup, or its migrations are not those of this version. */
  | 'BACKUP_OF_ANOTHER_VERSION'
  /** The database to restore into is not empty, or a file to be written is there already. */
  | 'RESTORE_NOT_EMPTY'
  /** What was restored is not what the backup holds; nothing of it was kept. */
  | 'RESTORE_FAILED'
  /** Something about the wallets' transactions is still to be decided, found or waited for; the report says what. */
  | 'RESTORE_NOT_RECONCILED';

export function backupError(
  code: BackupErrorCode,
  message: string,
  { cause, retryable = false }: { readonly cause?: unknown; readonly retryable?: boolean } = {},
): GatewayError<BackupErrorCode> {
  return new GatewayError(code, message, { retryable, ...(cause === undefined ? {} : { cause }) });
}
