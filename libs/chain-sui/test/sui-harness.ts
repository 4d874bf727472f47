import { randomBytes } from 'node:crypto';
import type { Signer } from '@mysten/sui/cryptography';
import { Secp256k1Keypair } from '@mysten/sui/keypairs/secp256k1';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import type { SuiDevnet, SuiDevnetOptions } from '@opentill/devnets/sui/start-sui-devnet';
import { startSuiDevnet } from '@opentill/devnets/sui/start-sui-devnet';
import type { ChainHarness, ChainTraits, Movement } from '@opentill/testkit/chain-harness';
import { createSuiPaying, suiPayersOf, type SuiOutput } from '@opentill/testkit/sui-paying';
import { suiAddressCodec } from '../src/address-codec.ts';
import type { SuiNetwork, SuiReaderDeps } from '../src/reader.ts';
import { createSuiReader } from '../src/reader.ts';

export interface SuiHarness extends ChainHarness {
  readonly devnet: SuiDevnet;
  readonly network: SuiNetwork;
  readonly payers: readonly Signer[];
}

export const SUI_TRAITS: ChainTraits = {
  recordsNetAmounts: true,
  isFinalAtOnce: true,
  largestAmount: 10n ** 13n,
};

export function networkOf(
  devnet: Pick<SuiDevnet, 'chainId' | 'url' | 'tokens'>,
  overrides: Partial<SuiNetwork> = {},
): SuiNetwork {
  const terms = { decimals: 6, displayDecimals: 2, minAmount: null, maxAmount: null };
  return {
    chain: 'SUI_TEST',
    genesisId: devnet.chainId,
    rpcUrls: [devnet.url],
    blockTimeMs: 250,
    tokens: [
      { symbol: 'USDC', contract: devnet.tokens.USDC, ...terms },
      { symbol: 'USDT', contract: devnet.tokens.USDT, ...terms },
    ],
    ...overrides,
  };
}

/** `deps` go to the reader, `overrides` into the network. */
export async function makeSuiHarness(
  overrides: Partial<SuiNetwork> = {},
  deps: SuiReaderDeps = {},
  options: Partial<SuiDevnetOptions> = {},
): Promise<SuiHarness> {
  const devnet = await startSuiDevnet({ checkpointMs: 0, ...options });
  const payers = suiPayersOf(devnet);
  const paying = createSuiPaying(devnet);
  const network = networkOf(devnet, overrides);
  const tokens = [devnet.tokens.USDC, devnet.tokens.USDT] as [string, string];
  let submitted = 0;
  const nextPayer = (): Signer => payers[submitted % payers.length]!;

  function outputOf(movement: Movement, payer: string): readonly SuiOutput[] {
    if (movement.kind === 'fakeToken')
      return [{ coinType: '0x2::sui::SUI', to: movement.to, amount: movement.amount }];
    if (movement.kind !== 'transfer') throw new Error(`no such movement: ${movement.kind}`);
    const { token, from = payer, to, amount } = movement;
    return from === payer ? [{ coinType: tokens[token], to, amount }] : [];
  }

  return {
    devnet,
    network,
    payers,
    codec: suiAddressCodec,
    reader: createSuiReader(network, { requestTimeoutMs: 20_000, ...deps }),
    tokens: tokens as unknown as readonly [TokenContract, TokenContract],
    movements: ['transfer', 'fakeToken'],
    keyPair: {
      publicKey: Secp256k1Keypair.fromSecretKey(devnet.accounts[1]!.secretKey).getPublicKey().toRawBytes(),
      address: devnet.accounts[1]!.address,
    },
    ...ADDRESSES,
    newAddress,
    nextSender: () => nextPayer().toSuiAddress() as Address,
    submit(movements, how) {
      const payer = nextPayer();
      submitted += 1;
      return paying.pay(
        payer,
        movements.flatMap((movement) => outputOf(movement, payer.toSuiAddress())),
        how,
      );
    },
    resubmit: (txHash) => paying.again(txHash),
    mine: async () => devnet.control.checkpoint().checkpoint,
    stop: () => devnet.close(),
  };
}

export function newAddress(): Address {
  return `0x${randomBytes(32).toString('hex')}` as Address;
}

const KNOWN = '0xa2d14fad60c56049ecf75246a481934691214ce413e6a8ae2fe6834c173a6133';
const ADDRESSES: Pick<ChainHarness, 'acceptedAddresses' | 'refusedAddresses'> = {
  acceptedAddresses: [
    [KNOWN, KNOWN],
    [`0x${KNOWN.slice(2).toUpperCase()}`, KNOWN],
    [`0x${'f'.repeat(64)}`, `0x${'f'.repeat(64)}`],
  ],
  refusedAddresses: [
    KNOWN.slice(2),
    `0X${KNOWN.slice(2)}`,
    KNOWN.slice(0, -1),
    `${KNOWN}0`,
    ` ${KNOWN}`,
    `${KNOWN}\n`,
    '0x2',
    `0x${'0'.repeat(64)}`,
    `0x${'2'.padStart(64, '0')}`,
    `0x${'dee9'.padStart(64, '0')}`,
    '0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf',
    'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
  ],
};
