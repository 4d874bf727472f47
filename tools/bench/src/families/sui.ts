import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { suiFamily } from '@opentill/chain-sui/family';
import { createSuiSender } from '@opentill/chain-sui/sender/create-sender';
import { findToken } from '@opentill/contracts/network-config';
import { suiPayoutTermsOf } from '@opentill/contracts/payout-terms';
import { startSuiNode } from '@opentill/devnets/sui/node-process';
import {
  controlSuiDevnet,
  payOnSuiDevnet,
  suiBalance,
  waitForSuiCheckpoint,
} from '@opentill/devnets/sui/payments';
import type { Gateway } from '@opentill/local/start-gateway';
import { findFreePort } from '@opentill/test-servers/free-port';
import {
  localNetwork,
  PAYMENT_BASE_UNITS,
  queueTogether,
  type BenchFamily,
  type PayingDevnet,
  type PayoutChain,
  type PayoutChainOptions,
} from './family.ts';

const CHAIN = 'SUI_TEST';
const FEES_MIST = 10_000n * 10n ** 9n;
async function takeOver({ sui: devnet }: Gateway): Promise<PayingDevnet> {
  if (devnet === undefined) throw new Error('the gateway has no SUI devnet');
  const { url } = devnet.node;
  await controlSuiDevnet(url, 'pause');
  const payment = { url, symbol: 'USDT', amountBaseUnits: PAYMENT_BASE_UNITS } as const;
  return {
    blocksToSuccess: 0,
    queue: (addresses) => queueTogether(addresses, (to) => payOnSuiDevnet({ ...payment, to })),
    mine: async () =>
      ((await controlSuiDevnet(url, 'checkpoint')) as { readonly checkpoint: number }).checkpoint,
  };
}

async function startPayoutChain({ dir, maxOpen }: PayoutChainOptions): Promise<PayoutChain> {
  const node = await startSuiNode({ dir: join(dir, 'sui'), port: await findFreePort() });
  const { url } = node;
  const network = await localNetwork('SUI', CHAIN, { url, maxOpen });
  const contract = findToken(network, 'USDT')?.contract ?? '';
  const terms = suiPayoutTermsOf(network);
  if (terms === undefined) throw new TypeError(`${CHAIN} has no payout terms`);
  return {
    network,
    contract,
    paying: (keys) => ({
      kind: 'EXPIRING',
      network,
      terms,
      codec: suiFamily.addressCodec,
      sender: createSuiSender(network, { backend: keys }),
    }),
    async fund(to, amountBaseUnits) {
      const gift = { form: 'address', mist: FEES_MIST, symbol: 'USDT', amountBaseUnits } as const;
      for (const digest of await payOnSuiDevnet({ url, to, ...gift }))
        await waitForSuiCheckpoint(url, digest);
    },
    newReceiver: () => `0x${randomBytes(32).toString('hex')}`,
    balanceOf: (receiver) => suiBalance(url, contract, receiver),
    stop: () => node.stop('kill'),
  };
}

export const sui: BenchFamily = {
  family: 'SUI',
  codec: suiFamily.addressCodec,
  scanner: 'scanner-sui',
  chain: CHAIN,
  takeOver,
  startPayoutChain,
  mainnet: 'SUI',
  depth: 0,
  tokenShare: 1,
  nodeForm: (contract) => contract,
  storedAddress: (hex) => `0x${hex}`,
};
