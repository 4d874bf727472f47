import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isAbsolute, join, normalize } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { backupError } from '@opentill/db/backup/backup-error';
import { MANIFEST_FILE, parseManifest, SUMS_FILE, type Manifest } from '@opentill/db/backup/manifest';

const LINE = /^(?<sum>[0-9a-f]{64}) {2}(?<file>\S.*)$/;

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** The format of `sha256sum -c`. */
export async function checksumLines(directory: string, files: readonly string[]): Promise<string> {
  const lines: string[] = [];
  for (const file of files) lines.push(`${await sha256Of(join(directory, file))}  ${file}\n`);
  return lines.join('');
}

/** Verifies the checksum of every file first. @throws GatewayError BACKUP_DAMAGED, BACKUP_OF_ANOTHER_VERSION */
export async function verifyBackup(directory: string): Promise<Manifest> {
  const sums = await subtractFromCounted(directory);
  for (const [file, expected] of sums) {
    const found = await sha256Of(join(directory, file)).catch((cause: unknown) => {
      throw backupError('BACKUP_DAMAGED', `${file} cannot be read`, { cause });
    });
    if (found !== expected) throw backupError('BACKUP_DAMAGED', `${file} differs from its checksum`);
  }
  const manifest = parseManifest(await readFile(join(directory, MANIFEST_FILE), 'utf8'));
  const named = [
    MANIFEST_FILE,
    ...manifest.tables.map(({ file }) => file),
    ...manifest.files.map(({ file }) => file),
  ];
  const missing = named.find((file) => !sums.has(file));
  if (missing !== undefined || sums.size !== named.length)
    throw backupError(
      'BACKUP_DAMAGED',
      `${SUMS_FILE} does not belong to this backup${missing ? `: ${missing} is missing` : ''}`,
    );
  return manifest;
}

async function subtractFromCounted(directory: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(join(directory, SUMS_FILE), 'utf8').catch((cause: unknown) => {
    throw backupError('BACKUP_DAMAGED', `${directory} is not a backup: it has no ${SUMS_FILE}`, { cause });
  });
  return new Map(
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => {
        const { sum = '', file = '' } = LINE.exec(line)?.groups ?? {};
        if (sum === '' || isAbsolute(file) || normalize(file).startsWith('..'))
          throw backupError('BACKUP_DAMAGED', `${SUMS_FILE} has a malformed line`);
        return [file, sum] as const;
      }),
  );
}
