import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WitnessKeyStore } from '@opentill/chain-tron/witness-keys';
import type { Chain } from '@opentill/domain/chains';
import { writeFileAtomically } from '@opentill/wallet/write-file-atomically';

/**
 * The keys that witnesses of a TRON network sign with, in a file of the state directory: no role of the database can change it.
 * Without the file they are learned anew, which takes a day. Throws a system error for a file that can't be read or written.
 */
export function openWitnessKeyFile(directory: string, chain: Chain): WitnessKeyStore {
  const path = join(directory, `witness-keys-${chain}.json`);
  return {
    async read() {
      try {
        return await readFile(path, 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    },
    write: (text) => writeFileAtomically(path, `${text}\n`, { mode: 0o600, replace: true }),
  };
}
