import type { Family } from '@opentill/domain/chains';
import { backupError } from './backup-error.ts';

/** `manifest.json`. SHA256SUMS has the checksums of its files. */
export interface Manifest {
  readonly format: typeof FORMAT;
  readonly formatVersion: typeof FORMAT_VERSION;
  readonly backupId: string;
  /** Time of the snapshot by the database's clock, ISO 8601. */
  readonly takenAt: string;
  readonly gatewayVersion: string;
  readonly postgresVersion: string;
  readonly migrations: readonly { readonly name: string; readonly checksum: string }[];
  readonly tables: readonly TableEntry[];
  readonly sequences: readonly SequenceEntry[];
  readonly families: Readonly<Record<Family, FamilyMarks>>;
  /** Fingerprint of the keys' seed; null in a database-only backup without a public key file. */
  readonly seedFingerprint: string | null;
  readonly files: readonly KeptFile[];
}

export interface TableEntry {
  /** Unquoted, with schema. */
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: number;
  readonly file: string;
}

export interface SequenceEntry {
  readonly name: string;
  readonly lastValue: string;
  readonly isCalled: boolean;
}

export interface FamilyMarks {
  /** All lower indexes may have been assigned. Read after the snapshot, so never too low. */
  readonly nextIndex: number;
  readonly peakPerHour: number;
}

export const KEPT_FILES = ['keystore', 'policy', 'publicKeys', 'networks'] as const;
export type KeptFileRole = (typeof KEPT_FILES)[number];

export interface KeptFile {
  readonly role: KeptFileRole;
  readonly file: string;
}

export const FORMAT = 'opentill-backup';
export const FORMAT_VERSION = 1;
export const MANIFEST_FILE = 'manifest.json';
export const SUMS_FILE = 'SHA256SUMS';

/** @throws GatewayError BACKUP_DAMAGED, BACKUP_OF_ANOTHER_VERSION */
export function parseManifest(text: string): Manifest {
  let json: Partial<Manifest> | null;
  try {
    json = JSON.parse(text) as Partial<Manifest> | null;
  } catch (cause) {
    throw backupError('BACKUP_DAMAGED', `${MANIFEST_FILE} is not JSON`, { cause });
  }
  if (json?.format !== FORMAT)
    throw backupError('BACKUP_DAMAGED', `${MANIFEST_FILE} is not the manifest of a backup`);
  if (json.formatVersion !== FORMAT_VERSION) {
    const message = `the backup has the format ${String(json.formatVersion)}; this version reads ${FORMAT_VERSION}`;
    throw backupError('BACKUP_OF_ANOTHER_VERSION', message);
  }
  return json as Manifest;
}
