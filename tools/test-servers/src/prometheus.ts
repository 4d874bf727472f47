import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { unpackDebianPackages } from './debian-packages.ts';

export interface PrometheusBinaries {
  readonly prometheus: string;
  readonly promtool: string;
}

/** Uses an installed Prometheus, else unpacks Debian's package into the cache. */
export async function findOrUnpackPrometheus(
  say: (line: string) => void = () => undefined,
): Promise<PrometheusBinaries> {
  const installed = ['/usr/bin', '/usr/local/bin']
    .map(binariesIn)
    .find(({ promtool }) => existsSync(promtool));
  if (installed !== undefined) return installed;
  const unpacked = await unpackDebianPackages({ name: 'prometheus', bare: ['prometheus'], say });
  if (unpacked.ok) return binariesIn(join(unpacked.root, 'usr/bin'));
  throw new Error(
    `Prometheus is not installed, and Debian's package could not be unpacked (${unpacked.reason ?? 'no apt'}). ` +
      'Install it: sudo apt-get install prometheus',
  );
}

function binariesIn(folder: string): PrometheusBinaries {
  return { prometheus: join(folder, 'prometheus'), promtool: join(folder, 'promtool') };
}
