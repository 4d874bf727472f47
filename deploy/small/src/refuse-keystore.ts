import { accessSync, constants } from 'node:fs';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Environment } from '@opentill/runtime/config';
import { refuseSecretsInEnvironment } from '@opentill/wallet/refuse-secrets-in-environment';
import { environmentOf } from './environment-of.ts';

export type RefuseKeystoreErrorCode =
  /** The public process may read the keystore's passphrase: whoever breaks into it has the keys. */
  'KEYSTORE_IN_REACH';

/**
 * Holds the two processes apart: the public one does not start where it could open the keystore.
 * @throws GatewayError KEYSTORE_IN_REACH; SECRET_IN_ENVIRONMENT of the wallet
 */
export function refuseKeystore(env: Environment): void {
  refuseSecretsInEnvironment(env);
  const file = environmentOf('payout-signer', env)['PASSPHRASE_FILE'];
  if (file === undefined || !isReadable(file)) return;
  throw new GatewayError<RefuseKeystoreErrorCode>(
    'KEYSTORE_IN_REACH',
    `the public process can read the keystore's passphrase, ${file}: run it as a user who cannot, with secrets of its own`,
    { retryable: false, context: { file } },
  );
}

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
