import { join } from 'node:path';

/** The repository, seen from deploy/local/src and from deploy/local/dist. */
export const CHECKOUT = join(import.meta.dirname, '..', '..', '..');

export const LOCAL_NETWORKS_FILE = join(CHECKOUT, 'deploy', 'networks', 'local.json');

/** A program of deploy/bundle/apps.mjs. */
export function entryPoint(app: string, entry = 'main'): string {
  return join(CHECKOUT, 'build', app, 'dist', `${entry}.js`);
}
