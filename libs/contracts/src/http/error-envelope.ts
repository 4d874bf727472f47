import { DETAIL_CHARACTERS_MAX } from './api-errors.ts';

export const ERROR_ENVELOPE = {
  type: 'object',
  description: 'Body of every error. The HTTP status equals `code`.',
  required: ['code', 'msg', 'data'],
  properties: {
    code: { type: 'integer', minimum: 400, maximum: 599 },
    msg: { type: 'string' },
    data: { type: 'null' },
    detail: {
      type: 'string',
      maxLength: DETAIL_CHARACTERS_MAX,
      description:
        'What to correct: the field, the problem and the allowed values. Absent where `msg` says all. For people: the text may change.',
      examples: ["amount: '12,50' is not a decimal number; write 12.50"],
    },
  },
} as const;
