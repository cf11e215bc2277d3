// camelCase to the canonical snake_case of spec/events.yaml.

const names = new Map()

function snake (name) {
  let result = names.get(name)
  if (result === undefined) {
    result = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    names.set(name, result)
  }
  return result
}

function canonical (object) {
  const result = {}
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined || key === 'id') continue
    result[snake(key)] = value
  }
  return result
}

export function canonicalEvent (event) {
  return { ...canonical(event), name: snake(event.name) }
}
