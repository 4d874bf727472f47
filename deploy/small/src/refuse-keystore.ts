import { accessSync, constants } from 'node:fs';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Environment } from '@opentill/runtime/config';
import { refuseSecretsInEnvironment } from '@opentill/wallet/refuse-secrets-in-environment';
import { environmentOf } from './environment-of.ts';

export type RefuseKeystoreErrorCode =
  /** The public process can read the keystore's passphrase, so an attacker in it would get the keys. */
  'KEYSTORE_IN_REACH';

/** Throws KEYSTORE_IN_REACH if the public process could open the keystore, and SECRET_IN_ENVIRONMENT. */
export function refuseKeystore(env: Environment): void {
  refuseSecretsInEnvironment(env);
  const file = environmentOf('payout-signer', env)['PASSPHRASE_FILE'];
  if (file === undefined || !isReadable(file)) return;
  throw new GatewayError<RefuseKeystoreErrorCode>(
    'KEYSTORE_IN_REACH',
    `the public process can read the keystore's passphrase, ${file}. Run it as another user with its own secrets`,
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
