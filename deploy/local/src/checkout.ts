import { join } from 'node:path';

/** The repository, seen from deploy/local/src and from deploy/local/dist. */
export const CHECKOUT = join(import.meta.dirname, '..', '..', '..');

export const LOCAL_NETWORKS_FILE = join(CHECKOUT, 'deploy', 'networks', 'local.json');

export function entryPoint(packagePath: string): string {
  return join(CHECKOUT, packagePath, 'dist', 'main.js');
}
