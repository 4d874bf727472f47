import { join } from 'node:path';
import type { Cluster } from './cluster.ts';
import { CHART } from './chart.ts';

/** Postgres and RabbitMQ of the gateway: `trial` is one pod each, in the chart. */
export type ServerKind = 'trial' | 'operators';

/** Owner of the database, and administrator of the broker. */
export interface ServerLogins {
  readonly database: { readonly user: string; readonly password: string };
  readonly broker: { readonly user: string; readonly password: string };
}

export interface Servers {
  /** Values files of the chart. */
  readonly files: readonly string[];
  readonly values: object;
  /** Targets of `kubectl port-forward`. */
  readonly postgres: string;
  readonly rabbitmq: string;
  logins(cluster: Cluster, secret: (name: string) => string): Promise<ServerLogins>;
}

/** Fits three members of each server on one node. */
const SMALL = { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '1Gi' } };

export function serversOf(kind: ServerKind): Servers {
  return kind === 'trial' ? trial() : operators();
}

function trial(): Servers {
  const image = (name: string): object => {
    const user = process.env[`OPENTILL_TEST_${name}_USER`];
    return { ...imageOf(name), ...(user && { userId: Number(user) }) };
  };
  return {
    files: [],
    values: {
      trial: {
        enabled: true,
        storage: { size: '' },
        postgres: image('POSTGRES'),
        rabbitmq: image('RABBITMQ'),
      },
    },
    postgres: 'statefulset/opentill-postgres',
    rabbitmq: 'statefulset/opentill-rabbitmq',
    logins: async (_cluster, secret) => ({
      database: { user: 'opentill', password: secret('database_admin_password') },
      broker: { user: 'opentill', password: secret('broker_admin_password') },
    }),
  };
}

function operators(): Servers {
  const { image: imageName } = imageOf('CNPG');
  return {
    files: [join(CHART, 'values-operators.yaml')],
    values: {
      operators: {
        postgres: {
          ...(imageName && { imageName }),
          storage: { size: '1Gi' },
          postgresql: { parameters: { shared_buffers: '128MB' } },
          resources: SMALL,
        },
        rabbitmq: { ...imageOf('RABBITMQ'), persistence: { storage: '1Gi' }, resources: SMALL },
      },
    },
    postgres: 'service/opentill-database-rw',
    rabbitmq: 'service/opentill-broker',
    logins: async (cluster) => {
      const of = async (name: string): Promise<ServerLogins['database']> => {
        const text = await cluster.kubectl(['get', 'secret', name, '-o', 'json']);
        const { data } = JSON.parse(text) as { data: Record<string, string> };
        const decode = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString();
        return { user: decode('username'), password: decode('password') };
      };
      return {
        database: await of('opentill-database-app'),
        broker: await of('opentill-broker-default-user'),
      };
    },
  };
}

function imageOf(name: string): { readonly image?: string } {
  const image = process.env[`OPENTILL_TEST_${name}_IMAGE`];
  return image === undefined || image === '' ? {} : { image };
}
