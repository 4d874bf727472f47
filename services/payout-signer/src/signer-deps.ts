import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { ExpiringSender } from '@opentill/chain/expiring-sender';
import type { DepositSigner } from '@opentill/chain/signer-backend';
import type { WalletSender } from '@opentill/chain/wallet-sender';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { PayoutTerms, WalletBounds } from '@opentill/contracts/payout-terms';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import type { Broker } from '@opentill/messaging/connection';
import type { Clock } from '@opentill/runtime/clock';
import type { NewId } from '@opentill/runtime/ids';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import type { PassTiming } from './nonce/pass-deps.ts';
import type { EnergySeller } from './energy/energy-seller.ts';
import type { PolicyJudge } from './policy/policy-port.ts';

interface OfNetwork {
  readonly network: NetworkConfig;
  readonly codec: AddressCodec;
}

/** A network whose transactions are ordered by nonces. */
export interface NoncePaying extends OfNetwork {
  readonly kind: 'NONCES';
  readonly terms: PayoutTerms;
  readonly sender: WalletSender;
  readonly reader: Pick<ChainReader, 'readFates'>;
}

/** A network whose transactions end by time, or with epochs. */
export interface ExpiringPaying extends OfNetwork {
  readonly kind: 'EXPIRING';
  readonly terms: WalletBounds & { readonly maxOpenPayouts: number };
  readonly sender: ExpiringSender;
}

/** A network to pay on, and how its chain is spoken to. */
export type PayingNetwork = NoncePaying | ExpiringPaying;

export interface SignerDeps {
  /** As the role opentill_signer. */
  readonly db: Db;
  readonly broker: Broker;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly networks: readonly PayingNetwork[];
  /** Networks whose file does not say how payouts are paid: theirs are told so, and end when their time is up. */
  readonly unpayable?: readonly OfNetwork[];
  /** Those that keys are held of, by family of the networks. */
  readonly wallets: readonly Address[];
  /** Derives deposit addresses, from which sweeps are signed. */
  readonly keys: Pick<DepositSigner, 'admitDeposit' | 'isDeposit'>;
  readonly policy: PolicyJudge;
  /** Who sells energy for sweeps, by chain. */
  readonly sellers?: ReadonlyMap<Chain, EnergySeller>;
  /** Unique to the process. */
  readonly instanceId: string;
  /** Where the marks of what was sent are kept (nonce-mark.ts, expiring/send-mark.ts): must outlive the database. */
  readonly stateDirectory: string;
  /** Receives errors that stop the service. */
  readonly fail: (error: unknown) => void;
  /** Receives the error when no chain passes its start-up checks. @default fail */
  readonly onNoneUsable?: (error: unknown) => void;
  readonly timing?: Partial<SignerTiming>;
}

export interface SignerTiming extends Omit<PassTiming, 'bumpAfterMs'> {
  /** Pause between passes that no event asked for. */
  readonly sweepMs: number;
  /** Pause between rounds of planning sweeps. */
  readonly planEveryMs: number;
  /** So long lent or bought energy is waited for at a deposit address. */
  readonly energyWaitMs: number;
  /** Deposit addresses of a chain that one replica sends from at once. */
  readonly depositsAtOnce: number;
  /** How long a wallet stays with a replica that says nothing. */
  readonly leaseTtlMs: number;
  readonly inboxKeptSeconds: number;
  /** Instead of the network's. */
  readonly bumpAfterMs?: number;
}
