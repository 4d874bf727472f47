import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WitnessKeyStore } from '@opentill/chain-tron/witness-keys';
import type { Chain } from '@opentill/domain/chains';
import { writeFileAtomically } from '@opentill/wallet/write-file-atomically';

/** No database role can change the file. Without it the signer learns the keys again, which takes a day. */
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
