import { join } from 'node:path';

/** The root of the repository: this file lies in deploy/local/src or deploy/local/dist. */
export const CHECKOUT = join(import.meta.dirname, '..', '..', '..');

/** The network file of the local profile, with its fixed ports. */
export const LOCAL_NETWORKS_FILE = join(CHECKOUT, 'deploy', 'networks', 'local.json');

/** The built entry point of a package, `services/api` for example. */
export function entryPoint(packagePath: string): string {
  return join(CHECKOUT, packagePath, 'dist', 'main.js');
}
