import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Address } from '@opentill/chain/address-codec';
import { addressOfShortHex, shortHexOf } from '@opentill/chain-tron/address-codec';
import { tronFamily } from '@opentill/chain-tron/family';
import { createTronSender } from '@opentill/chain-tron/sender/create-sender';
import { findToken } from '@opentill/contracts/network-config';
import { tronPayoutTermsOf } from '@opentill/contracts/payout-terms';
import { startTronNode } from '@opentill/devnets/tron/node-process';
import {
  controlTronDevnet,
  payOnTronDevnet,
  tronTokenBalance,
  waitForTronReceipt,
} from '@opentill/devnets/tron/payments';
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

const CHAIN = 'TRON_TEST';
/** Solidification lag of the local profile's devnet. */
const SOLID_LAG_BLOCKS = 3;
const FEES_SUN = 100_000n * 1_000_000n;

async function takeOver({ tron: devnet }: Gateway): Promise<PayingDevnet> {
  if (devnet === undefined) throw new Error('the gateway has no TRON devnet');
  const { url } = devnet.node;
  await controlTronDevnet(url, 'pause');
  const payment = { url, symbol: 'USDT', amountBaseUnits: PAYMENT_BASE_UNITS } as const;
  return {
    blocksToSuccess: SOLID_LAG_BLOCKS,
    queue: (addresses) => queueTogether(addresses, (to) => payOnTronDevnet({ ...payment, to })),
    mine: async () => ((await controlTronDevnet(url, 'mine')) as { readonly head: number }).head,
  };
}

async function startPayoutChain({ dir, maxOpen }: PayoutChainOptions): Promise<PayoutChain> {
  const node = await startTronNode({
    dir: join(dir, 'tron'),
    port: await findFreePort(),
    blockTimeMs: 1_000,
    solidLagBlocks: SOLID_LAG_BLOCKS,
  });
  const { url } = node;
  const network = await localNetwork('TRON', CHAIN, { url, maxOpen });
  const contract = findToken(network, 'USDT')?.contract ?? '';
  const terms = tronPayoutTermsOf(network);
  if (terms === undefined) throw new TypeError(`${CHAIN} has no payout terms`);
  return {
    network,
    contract,
    paying: (keys) => ({
      kind: 'EXPIRING',
      network,
      terms,
      codec: tronFamily.addressCodec,
      sender: createTronSender(network, { backend: keys }),
    }),
    async fund(to, amountBaseUnits) {
      const gift = { trxSun: FEES_SUN, symbol: 'USDT', amountBaseUnits } as const;
      for (const txid of await payOnTronDevnet({ url, to, ...gift })) await waitForTronReceipt(url, txid);
    },
    newReceiver: () => addressOfShortHex(randomBytes(20).toString('hex')) ?? '',
    balanceOf: (receiver) => tronTokenBalance(url, contract, receiver),
    stop: () => node.stop('kill'),
  };
}

export const tron: BenchFamily = {
  family: 'TRON',
  codec: tronFamily.addressCodec,
  scanner: 'scanner-tron',
  chain: CHAIN,
  takeOver,
  startPayoutChain,
  mainnet: 'TRON',
  depth: 18,
  tokenShare: 0.6,
  nodeForm: (contract) => shortHexOf(contract as Address),
  storedAddress: (hex) => addressOfShortHex(hex.slice(0, 40)) ?? '',
};
