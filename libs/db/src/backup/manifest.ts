import type { Family } from '@opentill/domain/chains';
import { backupError } from './backup-error.ts';

/** What a backup holds, and what it was made of: `manifest.json`. Its files' checksums stand in SHA256SUMS. */
export interface Manifest {
  readonly format: typeof FORMAT;
  readonly formatVersion: typeof FORMAT_VERSION;
  readonly backupId: string;
  /** By the database's clock, when the one snapshot was taken that everything is read from. ISO 8601. */
  readonly takenAt: string;
  /** Version of the gateway that wrote it. */
  readonly gatewayVersion: string;
  readonly postgresVersion: string;
  /** All that the database had, in order; the checksums are those of `schema_migration`. */
  readonly migrations: readonly { readonly name: string; readonly checksum: string }[];
  readonly tables: readonly TableEntry[];
  readonly sequences: readonly SequenceEntry[];
  /** Deposit addresses by family. */
  readonly families: Readonly<Record<Family, FamilyMarks>>;
  /** Which seed the kept keys belong to; null in a backup of the database alone without a public key file. */
  readonly seedFingerprint: string | null;
  readonly files: readonly KeptFile[];
}

export interface TableEntry {
  /** Schema and name, unquoted. */
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: number;
  /** Relative to the backup. Text of COPY, compressed by gzip. */
  readonly file: string;
}

export interface SequenceEntry {
  readonly name: string;
  readonly lastValue: string;
  readonly isCalled: boolean;
}

export interface FamilyMarks {
  /** Below it every index may have been given out. Read after the snapshot: never too low. */
  readonly nextIndex: number;
  /** The most addresses that were given out within one hour. */
  readonly peakPerHour: number;
}

export const KEPT_FILES = ['keystore', 'policy', 'publicKeys', 'networks'] as const;
export type KeptFileRole = (typeof KEPT_FILES)[number];

export interface KeptFile {
  readonly role: KeptFileRole;
  /** Relative to the backup. */
  readonly file: string;
}

export const FORMAT = 'opentill-backup';
export const FORMAT_VERSION = 1;
export const MANIFEST_FILE = 'manifest.json';
export const SUMS_FILE = 'SHA256SUMS';

/**
 * Reads a manifest whose checksum holds.
 * @throws GatewayError BACKUP_DAMAGED, BACKUP_OF_ANOTHER_VERSION
 */
export function parseManifest(text: string): Manifest {
  let json: Partial<Manifest> | null;
  try {
    json = JSON.parse(text) as Partial<Manifest> | null;
  } catch (cause) {
    throw backupError('BACKUP_DAMAGED', `${MANIFEST_FILE} is not JSON`, { cause });
  }
  if (json?.format !== FORMAT)
    throw backupError('BACKUP_DAMAGED', `${MANIFEST_FILE} is not that of a backup`);
  if (json.formatVersion !== FORMAT_VERSION) {
    const message = `the backup has the format ${String(json.formatVersion)}; this version reads ${FORMAT_VERSION}`;
    throw backupError('BACKUP_OF_ANOTHER_VERSION', message);
  }
  return json as Manifest;
}
