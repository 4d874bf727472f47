import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WitnessKeyStore } from '@opentill/chain-tron/witness-keys';
import type { Chain } from '@opentill/domain/chains';
import { writeFileAtomically } from '@opentill/wallet/write-file-atomically';

/**
 * Signing keys of a TRON network's witnesses, in a file of the state directory that no database role can change.
 * Without the file the signer learns them again, which takes a day.
 * @throws a system error if the file cannot be read or written
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
