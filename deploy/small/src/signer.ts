import { composePayoutSigner } from '@opentill/payout-signer/compose';
import { runAlone } from '@opentill/runtime/run-process';
import { environmentOf } from './environment-of.ts';

await runAlone(
  'payout-signer',
  async (env, context) => composePayoutSigner(environmentOf('payout-signer', env), context),
  process.env,
);
